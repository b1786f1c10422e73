export { calculateCost, type Priced } from "./calculate-cost.js";
export { type Estimate, estimateCost } from "./estimate-cost.js";
export { definePrices, type ModelPrices, type Prices } from "./prices.js";
export type { Cost } from "./tally.js";
