import "yet-another-react-lightbox/styles.css";
import Lightbox from "yet-another-react-lightbox";
import Zoom from "yet-another-react-lightbox/plugins/zoom";
import { modelName } from "../media/words.js";
import type { MenuItem } from "../ui/popups.js";
import { type Shown, sidesOf } from "./gallery.js";

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
  const slides = shown.map(({ image, sheet }) => {
    const [width, height] = sidesOf(image.size);
    return { src: image.url ?? "", alt: sheet.prompt, width, height };
  });
  return (
    <Lightbox
      open
      close={onClose}
      index={Math.max(
        0,
        shown.findIndex(({ key }) => key === open),
      )}
      slides={slides}
      plugins={[Zoom]}
      carousel={{ finite: true, padding: 0 }}
      animation={{ fade: 150, swipe: 200 }}
      zoom={{ maxZoomPixelRatio: 2, scrollToZoom: true }}
      // beside the messages, which stand outside the root: what is copied here is told here
      portal={{ root: document.getElementById("root") }}
      // room for the words below, whatever the shape of the image
      styles={{ slide: { paddingBottom: "9rem" }, root: { "--yarl__portal_zindex": 40 } }}
      controller={{ closeOnBackdropClick: true }}
      render={{
        slideFooter({ slide }) {
          const one = shown[slides.findIndex(({ src }) => "src" in slide && src === slide.src)];
          return one && <Details shown={one} actions={actionsOf(one)} onClose={onClose} />;
        },
      }}
    />
  );
}

interface DetailsProps {
  readonly shown: Shown;
  readonly actions: readonly (MenuItem | "line")[];
  readonly onClose: () => void;
}

function Details({ shown: { sheet, image }, actions, onClose }: DetailsProps) {
  const { model, values } = sheet.draft;
  const settings = [
    modelName(model),
    image.size?.replace("x", " × "),
    typeof values.seed === "number" && `Seed ${values.seed}`,
  ].filter(Boolean);
  return (
    <div className="absolute inset-x-0 bottom-0 flex flex-col items-center gap-2 bg-linear-to-t from-black/90 to-transparent p-4 pt-12 text-center text-white">
      <p dir="auto" className="line-clamp-3 max-w-3xl text-base">
        {sheet.prompt}
      </p>
      <p className="text-sm text-white/80">{settings.join(" · ")}</p>
      <div className="flex flex-wrap justify-center gap-1">
        {actions.map(
          (action) =>
            action !== "line" && (
              <button
                key={action.label}
                type="button"
                onClick={() => {
                  if (!/^(Copy|Download)/.test(action.label)) onClose();
                  action.onSelect();
                }}
                className="control inline-flex items-center justify-center gap-2 rounded-lg px-3 text-sm hover:bg-white/20 [&_svg]:size-4"
              >
                {action.icon}
                <span className="max-sm:sr-only">{action.label}</span>
              </button>
            ),
        )}
      </div>
    </div>
  );
}
