// only for dynamic imports, because bundlers warn about a module with both static and dynamic imports
export { createPartialJSON } from "@sluice/core/partial-json";
