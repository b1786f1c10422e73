export { sources } from "../../../../scripts/sources.ts";
