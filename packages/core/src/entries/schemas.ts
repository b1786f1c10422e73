export type { CheckResult, RequestFor } from "../base/validate.js";
export { type ModelInfo, models } from "../schemas/models.js";
export { checkRequest, type ModelRequest, requestSchemas } from "../schemas/requests.js";
export { toJSONSchema } from "../schemas/to-json-schema.js";
