import { useRef } from "react";
import { acceptedTypes } from "./accepted.js";

interface ImagePickerProps {
  /** Why there is nothing to pick for. */
  readonly blindness: string | undefined;
  readonly onPick: (files: Iterable<File>) => void;
}

/** Chooses images from the disk. */
export function ImagePicker({ blindness, onPick }: ImagePickerProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        className="quiet icon"
        aria-label="Add images"
        title={blindness ?? "Add images; pasting and dropping them works too"}
        disabled={blindness !== undefined}
        onClick={() => input.current?.click()}
      >
        <svg viewBox="0 0 20 20" width="18" height="18" fill="none" stroke="currentColor" aria-hidden="true">
          <rect x="2.75" y="3.75" width="14.5" height="12.5" rx="2" strokeWidth="1.5" />
          <circle cx="7" cy="8" r="1.25" fill="currentColor" stroke="none" />
          <path d="m3.5 14 4-3.5 3 2.5 3-3.5 3.5 4" strokeWidth="1.5" strokeLinejoin="round" />
        </svg>
      </button>
      <input
        ref={input}
        type="file"
        accept={acceptedTypes.join()}
        multiple
        hidden
        onChange={({ currentTarget }) => {
          onPick(currentTarget.files ?? []);
          // the same file can be picked again
          currentTarget.value = "";
        }}
      />
    </>
  );
}
