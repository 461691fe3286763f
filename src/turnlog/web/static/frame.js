// The parts of every page: keys, actions, and the state of the index.
import "./actions.js";
import "./keys.js";
import "./notifications.js";
import "./palette.js";
import "./theme_button.js";
import { watchState } from "./state.js";

watchState(document.getElementById("state"));
