// only for dynamic imports, because bundlers warn about a module with both static and dynamic imports
export { readSignedType, toDataURI } from "@sluice/core/files";
