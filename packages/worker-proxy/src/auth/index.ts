export { type CloudflareAccessOptions, cloudflareAccess, type JWTOptions, jwt } from "./jwt.js";
