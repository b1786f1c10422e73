export { type AdminOptions, admin } from "./admin.js";
export { type AnalyticsDataset, type AnalyticsEngineOptions, analyticsEngine } from "./analytics-engine.js";
export { type ErasedUser, type ExportedUser, eraseUser, exportUser } from "./user-data.js";
