import "./value-table.css";

/** What a tool gets or gives, to be read: a row for each field of an object, anything else as it is. */
export function ValueTable({ name, value }: { name: string; value: unknown }) {
  if (!isRecord(value))
    return (
      <p className="value">
        <span className="unseen">{name}: </span>
        <Value value={value} />
      </p>
    );
  return (
    <table className="values" aria-label={name}>
      <tbody>
        {Object.entries(value).map(([field, entry]) => (
          <tr key={field}>
            <th scope="row">{field}</th>
            <td dir="auto">
              <Value value={entry} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ value }: { value: unknown }) {
  if (typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.join(", ");
  return <code>{JSON.stringify(value, null, 2)}</code>;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
