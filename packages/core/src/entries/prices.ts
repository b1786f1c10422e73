export {
  costOf,
  type MessageNode,
  type Priced,
  type PricedItem,
  type RequestedResult,
} from "../prices/cost-of.js";
export { type Estimate, type EstimatedRequest, estimate, type PartialRequest } from "../prices/estimate.js";
export { definePrices, type ModelPrices, type Price, type Prices } from "../prices/prices.js";
export { requestTokens } from "../prices/request-tokens.js";
export type { Cost, MissingCost, MissingReason } from "../prices/tally.js";
