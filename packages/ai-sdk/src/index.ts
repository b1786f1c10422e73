export type { SluiceModelOptions } from "./base/provider-options.js";
export { createSluice, type SluiceProvider } from "./provider.js";
