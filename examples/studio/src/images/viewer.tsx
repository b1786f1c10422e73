import { modelName } from "@/components/sluice/format";
import { Lightbox } from "@/components/sluice/lightbox";
import type { MenuItem } from "../ui/popups.js";
import type { Shown } from "./gallery.js";

interface ViewerProps {
  /** The images that can be paged through. */
  readonly shown: readonly (Shown & { readonly key: string })[];
  /** Key of the one that is shown first. */
  readonly open: string;
  readonly actionsOf: (shown: Shown) => readonly (MenuItem | "line")[];
  readonly onClose: () => void;
}

/** One image at a time in the whole window, with its prompt and settings. */
export function Viewer({ shown, open, actionsOf, onClose }: ViewerProps) {
  return (
    <Lightbox
      images={shown.map(({ key, image, sheet }) => ({
        key,
        url: image.url ?? "",
        prompt: sheet.prompt,
        size: image.size,
        facts: factsOf({ image, sheet }),
      }))}
      open={open}
      onClose={onClose}
      // beside the messages, which stand outside the root: what is copied here is told here
      root={document.getElementById("root")}
      actionsOf={({ key }) => {
        const one = shown.find((other) => other.key === key);
        return (one ? actionsOf(one) : [])
          .filter((action) => action !== "line")
          .map((action) => ({ ...action, stays: /^(Copy|Download|Share)/.test(action.label) }));
      }}
    />
  );
}

function factsOf({ sheet, image }: Shown): readonly string[] {
  const { model, values } = sheet.draft;
  return [
    modelName(model),
    image.size?.replace("x", " × "),
    typeof values.seed === "number" && `Seed ${values.seed}`,
  ].filter((fact) => typeof fact === "string");
}
