export { assetRequest, checkAssetRequest } from "../assets/schema.js";
export type { Findings } from "../base/validate.js";
export {
  type AssistantMessage,
  type ChatRequestMessage,
  type ImagePart,
  type SystemMessage,
  type TextMessage,
  type TextPart,
  type TextUserMessage,
  type ToolCall,
  type ToolMessage,
  toolCall,
  type UserMessage,
} from "../chat/protocol/message-schema.js";
export {
  type AlphaChatParams,
  type AlphaChatRequest,
  type ChatParams,
  type ChatRequest,
  type ChatRequests,
  chatRequests,
  checkChatRequest,
  type DeltaChatParams,
  type DeltaChatRequest,
  type GammaChatParams,
  type GammaChatRequest,
  type SharedChatParams,
} from "../chat/protocol/schema.js";
export type { NamedToolChoice, ToolDefinition } from "../chat/protocol/tool-schema.js";
export {
  checkImageRequest,
  type GammaImage40Request,
  type GammaImage50Request,
  type ImageRequest,
  type ImageRequests,
  imageRequests,
  type LogoInfo,
} from "../images/schema.js";
export type {
  BetaFrame,
  BetaPublicReference,
  BetaReferenceImage,
  BetaVideoParameters,
  BetaVideoRequest,
} from "../videos/schema/beta.js";
export type {
  FastFrame,
  FastImageRequest,
  FastTextRequest,
  GammaVideo10ProFastRequest,
  GammaVideo15ProRequest,
  ProFrame,
  ProImageRequest,
  ProTextRequest,
  VideoText,
} from "../videos/schema/gamma-1.js";
export type {
  Gamma2Audio,
  Gamma2Image,
  Gamma2Video,
  GammaVideo20Request,
  GammaVideoFastRequest,
} from "../videos/schema/gamma-2.js";
export {
  checkVideoRequest,
  type VideoRequest,
  type VideoRequests,
  videoRequests,
} from "../videos/schema/request.js";
export { type ChatModel, chatModelOf, chatModels } from "../vocabulary/chat-models.js";
export { jsonSchemaOf, type RequestJSONSchema } from "../vocabulary/json-schema-of.js";
export {
  type AssetModel,
  assetModels,
  type ImageModel,
  imageModelOf,
  imageModels,
  type VideoModel,
  videoModelOf,
  videoModels,
} from "../vocabulary/media-models.js";
