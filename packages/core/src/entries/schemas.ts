export { assetRequest, checkAssetRequest } from "../assets/schema.js";
export type { Findings } from "../base/validate.js";
export type * from "../chat/protocol/request-body.js";
export {
  chatRequests,
  checkChatRequest,
  imagePart,
  textPart,
  toolCall,
  toolDefinition,
} from "../chat/protocol/schema.js";
export type * from "../images/request-body.js";
export { checkImageRequest, imageRequests } from "../images/schema.js";
export { betaFrame, betaReference } from "../videos/schema/beta.js";
export type * from "../videos/schema/beta-body.js";
export { fastFrame, proFrame, videoText } from "../videos/schema/gamma-1.js";
export type * from "../videos/schema/gamma-1-body.js";
export { gamma2Audio, gamma2Image, gamma2Video } from "../videos/schema/gamma-2.js";
export type * from "../videos/schema/gamma-2-body.js";
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
