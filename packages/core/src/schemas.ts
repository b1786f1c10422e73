export { assetRequest, checkAssetRequest } from "./assets/schema.js";
export type { Findings } from "./base/validate.js";
export type {
  AlphaChatRequest,
  DeltaChatRequest,
  GammaChatRequest,
  ToolCall,
  ToolDefinition,
} from "./chat/protocol/request-body.js";
export {
  alphaChatRequest,
  checkChatRequest,
  deltaChatRequest,
  gammaChatRequest,
  imagePart,
  textPart,
  toolCall,
  toolDefinition,
} from "./chat/protocol/schema.js";
export type { GammaImage40Request, GammaImage50Request } from "./images/request-body.js";
export { checkImageRequest, gammaImage40Request, gammaImage50Request } from "./images/schema.js";
export {
  type AssetModel,
  assetModels,
  type ChatModel,
  chatModels,
  type ImageModel,
  imageModels,
  type VideoModel,
  videoModels,
} from "./models.js";
export { betaFrame, betaReference, betaVideoRequest } from "./videos/schema/beta.js";
export type { BetaVideoRequest } from "./videos/schema/beta-body.js";
export {
  fastFrame,
  gammaVideo10ProFastRequest,
  gammaVideo15ProRequest,
  proFrame,
  videoText,
} from "./videos/schema/gamma-1.js";
export type { GammaVideo10ProFastRequest, GammaVideo15ProRequest } from "./videos/schema/gamma-1-body.js";
export {
  gamma2Audio,
  gamma2Image,
  gamma2Video,
  gammaVideo20Request,
  gammaVideoFastRequest,
} from "./videos/schema/gamma-2.js";
export type { GammaVideo20Request, GammaVideoFastRequest } from "./videos/schema/gamma-2-body.js";
export { checkVideoRequest } from "./videos/schema/request.js";
