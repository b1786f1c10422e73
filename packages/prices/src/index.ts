export {
  costOf,
  type MessageNode,
  type Priced,
  type PricedItem,
  type RequestedResult,
} from "./cost-of.js";
export { type Estimate, type EstimatedRequest, estimate, type PartialRequest } from "./estimate.js";
export { definePrices, type ModelPrices, type Price, type Prices } from "./prices.js";
export { requestTokens } from "./request-tokens.js";
export type { Cost, MissingCost, MissingReason } from "./tally.js";
