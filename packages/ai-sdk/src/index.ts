export { createSluice, type SluiceProvider } from "./provider.js";
export type { SluiceModelOptions } from "./provider-options.js";
