// What every page has: keys, actions, and how far the index is.
import "./actions.js";
import "./keys.js";
import { watch } from "./state.js";

watch(document.getElementById("state"));
