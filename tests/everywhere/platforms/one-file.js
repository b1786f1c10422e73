export * from "@sluice/core";
export * from "@sluice/media";
