import { useId, useState } from "react";

/** A link, typed or pasted. */
export function LinkField({ name, onLink }: { name: string; onLink: (url: string) => void }) {
  const id = useId();
  const [link, setLink] = useState("");
  const add = () => {
    if (link.trim() === "") return;
    onLink(link.trim());
    setLink("");
  };
  return (
    <div className="by-link">
      <input
        id={id}
        type="text"
        inputMode="url"
        autoComplete="off"
        aria-label={`${name}: link`}
        placeholder="or a link"
        value={link}
        onChange={(event) => setLink(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          // it adds the link, and does not send the form
          event.preventDefault();
          add();
        }}
      />
      <button type="button" className="small" aria-label={`${name}: add the link`} onClick={add}>
        Add
      </button>
    </div>
  );
}
