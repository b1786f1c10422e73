/* What only a failed request needs. A call loads it before its network fails. */

export { readRefusal } from "./read-refusal.js";
export { repeat } from "./repeat.js";
