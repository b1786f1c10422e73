export { GatewayProvider, useClient } from "./provider.js";
export { useChatMessage, useChatStatus } from "./use-chat-parts.js";
export { type UseChatStreamOptions, type UseChatStreamResult, useChatStream } from "./use-chat-stream.js";
