export {
  createEventParser,
  type EventParser,
  type ServerSentEvent,
} from "../transport/event-stream.js";
