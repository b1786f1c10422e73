import "./images.css";

/** The images of a question. */
export function SentImages({ urls }: { urls: readonly string[] }) {
  return (
    <ul className="sent-images" aria-label="Images">
      {urls.map((url, place) => (
        <li key={place}>
          <img src={url} alt={`${place + 1} of ${urls.length}`} referrerPolicy="no-referrer" />
        </li>
      ))}
    </ul>
  );
}
