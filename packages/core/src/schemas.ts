export {
  alphaChatRequest,
  checkChatRequest,
  deltaChatRequest,
  gammaChatRequest,
  imagePart,
  textPart,
  toolCall,
  toolDefinition,
} from "./chat/schema.js";
export { type ChatModel, chatModels } from "./models.js";
