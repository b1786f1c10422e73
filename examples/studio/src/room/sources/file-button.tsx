import { useRef } from "react";

interface FileButtonProps {
  readonly name: string;
  readonly accept: string;
  readonly isMultiple: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

/** Asks for files. */
export function FileButton({ name, accept, isMultiple, onFiles }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div>
      <button
        type="button"
        className="small"
        aria-label={`${name}: choose ${isMultiple ? "files" : "a file"}`}
        onClick={() => input.current?.click()}
      >
        Choose {isMultiple ? "files" : "a file"}
      </button>
      <input
        ref={input}
        type="file"
        accept={accept}
        multiple={isMultiple}
        hidden
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          // the same file can be picked again
          currentTarget.value = "";
        }}
      />
    </div>
  );
}
