import { useStore } from "@nanostores/react";
import { Upload } from "lucide-react";
import { useRef, useState } from "react";
import { Button } from "@/components/sluice/button";
import { TextInput } from "@/components/sluice/fields";
import type { MediaField } from "@/components/sluice/form-fields";
import { registered } from "../assets/registered.js";
import { gallery } from "../images/gallery.js";
import { Popover, type Trigger } from "../ui/popups.js";
import { acceptOf, fileHints } from "./files.js";

interface AddMediaProps {
  readonly title: string;
  /** Fields that take something; each has a part of the box. */
  readonly fields: readonly MediaField[];
  readonly onFiles: (field: MediaField, files: readonly File[]) => void;
  readonly onLinks: (field: MediaField, links: readonly string[]) => void;
  /** The button that opens the box. */
  readonly trigger: Trigger;
}

/** A box to add files, links, and pictures that were made here. */
export function AddMedia({ title, fields, trigger, ...rest }: AddMediaProps) {
  return (
    <Popover title={title} trigger={trigger}>
      {fields.map((field) => (
        <Part key={field.name} field={field} {...rest} />
      ))}
    </Popover>
  );
}

type PartProps = Pick<AddMediaProps, "onFiles" | "onLinks"> & { readonly field: MediaField };

function Part({ field, onFiles, onLinks }: PartProps) {
  const input = useRef<HTMLInputElement>(null);
  const [link, setLink] = useState("");
  const isSingle = field.max === 1;
  const accept = acceptOf(field);
  const hint = fileHints[field.media];
  const addLink = () => {
    if (link.trim() === "") return;
    onLinks(field, [link.trim()]);
    setLink("");
  };
  return (
    <section aria-label={field.label} className="flex flex-col gap-2">
      <h3 className="text-sm font-medium">{field.label}</h3>
      {accept && (
        <>
          <Button onClick={() => input.current?.click()}>
            <Upload aria-hidden />
            {isSingle ? "Choose a file" : "Choose files"}
          </Button>
          <input
            ref={input}
            type="file"
            hidden
            aria-label={`${field.label}: files`}
            accept={accept}
            multiple={!isSingle}
            onChange={({ currentTarget }) => {
              onFiles(field, [...(currentTarget.files ?? [])]);
              // the same file can be chosen again
              currentTarget.value = "";
            }}
          />
          {hint && <p className="text-xs text-muted">{hint}</p>}
        </>
      )}
      <div className="flex gap-2">
        <TextInput
          type="url"
          aria-label={`${field.label}: link`}
          placeholder="https://…"
          value={link}
          onChange={(event) => setLink(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && addLink()}
        />
        <Button aria-label={`${field.label}: add link`} onClick={addLink}>
          Add
        </Button>
      </div>
      <Recent field={field} onPick={(url) => onLinks(field, [url])} />
    </section>
  );
}

/** Most pictures of a row. */
const MOST = 8;

/** Pictures and assets of this browser that the field takes. */
function Recent({ field, onPick }: { field: MediaField; onPick: (url: string) => void }) {
  const sheets = useStore(gallery.items);
  const assets = useStore(registered.items);
  if (field.media !== "image") return null;
  const images = sheets.flatMap(({ prompt, images }) =>
    images.flatMap(({ url }) => (url ? { url, shown: url, name: prompt } : [])),
  );
  const named = field.sources.includes("asset")
    ? assets.map(({ uri, picture, name }) => ({ url: uri, shown: picture, name }))
    : [];
  const recent = [...named, ...images].slice(0, MOST);
  if (recent.length === 0) return null;
  return (
    <ul aria-label="Recent" className="grid grid-cols-4 gap-2">
      {recent.map(({ url, shown, name }) => (
        <li key={url}>
          <button
            type="button"
            aria-label={`Use ${name}`}
            onClick={() => onPick(url)}
            className="block w-full overflow-hidden rounded-lg border hover:border-accent"
          >
            <img
              src={shown}
              alt=""
              className="aspect-square w-full object-cover"
              referrerPolicy="no-referrer"
            />
          </button>
        </li>
      ))}
    </ul>
  );
}
