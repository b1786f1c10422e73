import { type ImageResult, redact } from "@sluice/core";
import { useState, useSyncExternalStore } from "react";
import { moment } from "../room/use-now.js";
import { gallery, type Sheet } from "./gallery.js";
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

interface PictureProps {
  readonly image: ImageResult["images"][number];
  readonly alt: string;
  readonly place: number;
}

function Picture({ image, alt, place }: PictureProps) {
  const [isGone, setGone] = useState(false);
  if (image.error)
    return (
      <p className="blank failed">
        <strong>Image {place} was not made.</strong> {redact(image.error.message)}
      </p>
    );
  const [width, height] = image.size?.split("x").map(Number) ?? [];
  return (
    <figure>
      {isGone ? (
        <p className="blank">Its link does not work any more.</p>
      ) : (
        <img
          src={image.url}
          alt={alt}
          width={width}
          height={height}
          loading="lazy"
          referrerPolicy="no-referrer"
          onError={() => setGone(true)}
        />
      )}
      <figcaption>
        {image.size?.replace("x", " × ") ?? "size unknown"}
        <a
          href={image.url}
          download
          target="_blank"
          rel="noreferrer"
          aria-label={`Download image ${place}`}
          title="Opens the image in full size where the browser can't save it at once"
        >
          Download
        </a>
      </figcaption>
    </figure>
  );
}
