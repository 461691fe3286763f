// The parts of every page of a lake, which has neither sessions to go to nor an index that grows.
import "./theme_button.js";
