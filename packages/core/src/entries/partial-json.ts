export { createPartialJSON, type PartialJSON, type PartialJSONOptions } from "../chat/partial-json/parser.js";
