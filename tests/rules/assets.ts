import { createRules, type Rule } from "./rule.ts";

const { rules, refuses, warns } = createRules({
  endpoint: "/gamma/asset/CreateAsset",
  section: "Asset · gamma-asset",
  prefix: "asset",
  request: {
    model: "gamma-asset",
    GroupId: "group-1",
    Name: "hero",
    AssetType: "Image",
    URL: "https://img.example.com/hero.png",
  },
});
for (const field of ["GroupId", "Name", "URL"]) {
  refuses(field, "string", {}, { [field]: undefined });
  refuses(field, "not empty", {}, { [field]: "" });
}
refuses("AssetType", "Image", {}, { AssetType: "Video" });
refuses("URL", "image URL", {}, { URL: "ftp://img.example.com/hero.png" });
refuses(
  "URL",
  "data URI",
  { URL: "data:image/png;base64,iVBORw0KGgo=" },
  { URL: "data:text/plain;base64,aGk=" },
);
refuses("URL", "plain Base64", { URL: "iVBORw0KGgo=" }, { URL: "not base64!" });
warns("(any other field)", "not in the list", {}, { Tags: [] }, { path: "Tags", rule: "unknown-field" });

export const assetRules: readonly Rule[] = rules;
