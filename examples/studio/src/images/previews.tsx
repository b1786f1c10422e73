import { useEffect, useRef } from "react";
import "./images.css";

interface PreviewsProps {
  readonly files: readonly File[];
  readonly onRemove: (file: File) => void;
}

/** The images that go with the next message. */
export function Previews({ files, onRemove }: PreviewsProps) {
  if (files.length === 0) return null;
  return (
    <ul className="previews" aria-label="Images to send">
      {files.map((file, place) => (
        <li key={`${place} ${file.name}`}>
          <Preview file={file} />
          <span title={file.name}>{file.name}</span>
          <button
            type="button"
            className="quiet small"
            aria-label={`Remove ${file.name}`}
            onClick={() => onRemove(file)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function Preview({ file }: { file: File }) {
  const image = useRef<HTMLImageElement>(null);
  useEffect(() => {
    const url = URL.createObjectURL(file);
    if (image.current) image.current.src = url;
    return () => URL.revokeObjectURL(url);
  }, [file]);
  return <img ref={image} alt="" />;
}
