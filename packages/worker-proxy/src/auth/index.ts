export type { Authenticate } from "../api/options.js";
export { type CloudflareAccessOptions, cloudflareAccess, type JWTOptions, jwt } from "./jwt.js";
