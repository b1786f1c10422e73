export { GatewayProvider, useClient } from "./provider.js";
export {
  type ChatTarget,
  type UseChatStreamOptions,
  type UseChatStreamResult,
  useChatStream,
} from "./use-chat-stream.js";
