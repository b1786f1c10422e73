/* What only a failed request needs. A page loads it before its network fails. */

export { describeRefusal, describeResponse } from "./describe-refusal.js";
export { repeat } from "./repeat.js";
