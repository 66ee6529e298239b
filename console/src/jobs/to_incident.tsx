import { open } from "../shell/route";

/** Link to the open incident that explains a slow job or rank. */
export function ToIncident({ subject }: { subject: string }) {
  return (
    <>
      {" "}
      <button type="button" class="link" onClick={() => open("incidents", subject)}>
        Show the incident
      </button>
    </>
  );
}
