export type { StreamStorage } from "./memory.js";
export type { ChatTransportOptions } from "./options.js";
export { createChatTransport } from "./transport.js";
