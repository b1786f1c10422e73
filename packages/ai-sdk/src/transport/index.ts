export type { ChatTransportOptions } from "./options.js";
export { createChatTransport } from "./transport.js";
