export { createPartialJSON, type PartialJSON } from "../chat/partial-json/parser.js";
