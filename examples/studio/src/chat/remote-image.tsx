import { useState } from "react";

/**
 * An image that the model names. It is loaded when somebody asks for it and not before: whoever talks the model
 * into an address could otherwise read the conversation out of it. Only https is loaded at all.
 */
export function RemoteImage({ src, alt }: { src: unknown; alt: string | undefined }) {
  const [isShown, setShown] = useState(false);
  const name = alt || "without a description";
  if (typeof src !== "string" || !src.startsWith("https://")) return <em>[image not shown: {name}]</em>;
  if (isShown) return <img src={src} alt={alt ?? ""} referrerPolicy="no-referrer" />;
  return (
    <button type="button" className="small" onClick={() => setShown(true)}>
      Load image from {new URL(src).host}: {name}
    </button>
  );
}
