export { createSluice, type SluiceProvider } from "./provider.js";
export type {
  SluiceChatOptions,
  SluiceImageOptions,
  SluiceVideoOptions,
} from "./provider-options.js";
