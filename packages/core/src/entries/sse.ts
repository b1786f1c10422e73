export {
  createEventParser,
  type EventHandlers,
  type EventParser,
  type ServerSentEvent,
} from "../transport/event-stream.js";
