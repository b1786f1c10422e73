export {
  createEventParser,
  type EventHandlers,
  type EventParser,
  MAX_LENGTH,
  type ServerSentEvent,
} from "../transport/event-stream.js";
