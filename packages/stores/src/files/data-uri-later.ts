// imported later alone: a bundler warns of a module that a page imports both later and at once
export { readSignedType, toDataURI } from "@sluice/core/internal/media";
