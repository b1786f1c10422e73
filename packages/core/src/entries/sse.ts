export { isErrorEvent } from "../chat/protocol/reported-error.js";
export { createStrayLines } from "../chat/protocol/stray-lines.js";
export {
  createEventParser,
  type EventParser,
  type ServerSentEvent,
} from "../transport/event-stream.js";
