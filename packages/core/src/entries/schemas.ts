export { assetRequest, checkAssetRequest } from "../assets/schema.js";
export type { Findings } from "../base/validate.js";
export {
  type AssistantMessage,
  type ChatRequestMessage,
  type SystemMessage,
  type ToolMessage,
  toolCall,
  type UserMessage,
} from "../chat/protocol/message-schema.js";
export {
  type ChatParams,
  type ChatRequest,
  type ChatRequests,
  chatRequests,
  checkChatRequest,
  type SharedChatParams,
} from "../chat/protocol/schema.js";
export { checkImageRequest, type ImageRequest, type ImageRequests, imageRequests } from "../images/schema.js";
export {
  checkVideoRequest,
  type VideoRequest,
  type VideoRequests,
  videoRequests,
} from "../videos/schema/request.js";
export { type ChatModel, chatModels } from "../vocabulary/chat-models.js";
export {
  type AssetModel,
  assetModels,
  type ImageModel,
  imageModels,
  type VideoModel,
  videoModels,
} from "../vocabulary/media-models.js";
export { type RequestJSONSchema, toJSONSchema } from "../vocabulary/to-json-schema.js";
