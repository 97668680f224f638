# specviz with the CUDA build of torch; runs without a GPU too.
#
#   docker build --tag specviz .
#   docker run --gpus all --publish 8501:8501 specviz
#
# Without the model in the image, which then fetches it into a volume at its first start:
#   docker build --build-arg FETCH_MODEL=0 --tag specviz .
#   docker run --gpus all --publish 8501:8501 --volume specviz:/cache specviz
FROM python:3.12-slim-bookworm

ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONUNBUFFERED=1 \
    SPECVIZ_CACHE=/cache/specviz \
    HF_HOME=/cache/huggingface

WORKDIR /app
COPY requirements.txt .
RUN pip install --requirement requirements.txt \
    && useradd --create-home --uid 1000 specviz \
    && install --directory --owner=specviz /cache
COPY . .

USER 1000
ARG FETCH_MODEL=1
RUN if [ "$FETCH_MODEL" = 1 ]; then python -m specviz fetch; fi

EXPOSE 8501
# An unknown address answers 200 too, with the page: only the body tells.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", "import json, urllib.request as r; assert json.load(r.urlopen('http://127.0.0.1:8501/healthz'))['status'] == 'ok'"]
CMD ["streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501", "--server.headless=true", "--server.fileWatcherType=none"]
