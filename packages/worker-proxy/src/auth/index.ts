export type { Authenticate } from "../options.js";
export { type CloudflareAccessOptions, cloudflareAccess, type JWTOptions, jwt } from "./jwt.js";
