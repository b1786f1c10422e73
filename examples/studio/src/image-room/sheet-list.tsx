import { useSyncExternalStore } from "react";
import { moment } from "../room/use-now.js";
import { gallery, type Sheet } from "./gallery.js";
import { Picture } from "./picture.js";
import "./gallery.css";

/** The gallery: what each request gave, with what failed in its place. */
export function SheetList() {
  const sheets = useSyncExternalStore(gallery.subscribe, gallery.getSnapshot);
  if (sheets.length === 0)
    return (
      <p className="nothing">
        What is made is shown here, and kept in this browser for as long as its links work.
      </p>
    );
  return sheets.map((sheet) => <SheetShown key={sheet.id} sheet={sheet} />);
}

function SheetShown({ sheet: { id, prompt, model, madeAt, images } }: { sheet: Sheet }) {
  const failures = images.filter(({ error }) => error).length;
  return (
    <article className="sheet" aria-label={prompt}>
      <header>
        <p dir="auto">{prompt}</p>
        <p className="hint">
          {model} · {moment(madeAt)}
          {failures > 0 && ` · ${failures} of ${images.length} failed`}
        </p>
        <button type="button" className="quiet small" onClick={() => gallery.remove(id)}>
          Remove
        </button>
      </header>
      <ul>
        {images.map((image, place) => (
          <li key={place}>
            <Picture
              image={image}
              alt={images.length > 1 ? `${prompt}, ${place + 1}` : prompt}
              place={place + 1}
            />
          </li>
        ))}
      </ul>
    </article>
  );
}
