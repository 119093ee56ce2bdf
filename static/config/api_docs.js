// Shows the endpoints of the API with Swagger UI. Nothing is sent to another host: no validator, no remote files.
(() => {
  const place = document.getElementById("api-docs");
  const root = document.documentElement;
  const follow = () => root.classList.toggle("dark-mode", root.dataset.bsTheme === "dark");
  new MutationObserver(follow).observe(root, { attributeFilter: ["data-bs-theme"] });
  follow();
  // The usual layout has a heading and a landmark of its own, which the page has already.
  const plain =
    (element) =>
    ({ getComponent }) =>
      element(
        "div",
        { className: "swagger-ui" },
        ...["SvgAssets", "AuthorizeBtnContainer", "FilterContainer", "operations"].map((name) =>
          element(getComponent(name, true), { key: name }),
        ),
      );
  window.SwaggerUIBundle({
    url: place.dataset.schema,
    domNode: place,
    validatorUrl: null,
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    filter: true,
    persistAuthorization: false,
    queryConfigEnabled: false,
    plugins: [({ React }) => ({ components: { Plain: plain(React.createElement) } })],
    layout: "Plain",
    onComplete: () => {
      place.dataset.ready = "true";
    },
  });
})();
