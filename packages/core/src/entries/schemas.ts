export { assetRequest, checkAssetRequest } from "../assets/schema.js";
export type { Findings } from "../base/validate.js";
export {
  type AssistantMessage,
  type ChatRequestMessage,
  type ImagePart,
  imagePart,
  type SystemMessage,
  type TextMessage,
  type TextPart,
  type TextUserMessage,
  type ToolCall,
  type ToolMessage,
  textPart,
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
export { type NamedToolChoice, type ToolDefinition, toolDefinition } from "../chat/protocol/tool-schema.js";
export {
  checkImageRequest,
  type GammaImage40Request,
  type GammaImage50Request,
  type ImageRequest,
  type ImageRequests,
  imageRequests,
  type LogoInfo,
} from "../images/schema.js";
export {
  type BetaFrame,
  type BetaPublicReference,
  type BetaReferenceImage,
  type BetaVideoParameters,
  type BetaVideoRequest,
  betaFrame,
  betaReference,
} from "../videos/schema/beta.js";
export {
  type FastFrame,
  type FastImageRequest,
  type FastTextRequest,
  fastFrame,
  type GammaVideo10ProFastRequest,
  type GammaVideo15ProRequest,
  type ProFrame,
  type ProImageRequest,
  type ProTextRequest,
  proFrame,
  type VideoText,
  videoText,
} from "../videos/schema/gamma-1.js";
export {
  type Gamma2Audio,
  type Gamma2Image,
  type Gamma2Video,
  type GammaVideo20Request,
  type GammaVideoFastRequest,
  gamma2Audio,
  gamma2Image,
  gamma2Video,
} from "../videos/schema/gamma-2.js";
export {
  checkVideoRequest,
  type VideoRequest,
  type VideoRequests,
  videoRequests,
} from "../videos/schema/request.js";
export {
  type AssetModel,
  assetModels,
  type ChatModel,
  chatModelOf,
  chatModels,
  type ImageModel,
  imageModelOf,
  imageModels,
  type VideoModel,
  videoModelOf,
  videoModels,
} from "../vocabulary/models.js";
