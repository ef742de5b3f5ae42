"""The defaults of Primitives, as attributes of their objects, and the values of enumerations."""

import re

from ..spec import case

PUBLIC = """
    Adam(use_locking use_nesterov); AdamNoUpdateParam(use_locking use_nesterov);
    AdamWeightDecay(use_locking); AffineGrid(align_corners); AllGather(group);
    AllGatherV(group); AllReduce(op group); AlltoAllV(group block_size); AlltoAllVC(group
    block_size transpose); ApplyAdagrad(update_slots); ApplyAdagradDA(use_locking);
    ApplyAdamWithAmsgrad(beta1 beta2 epsilon use_locking); ApplyAdamWithAmsgradV2(use_locking);
    ApplyCenteredRMSProp(use_locking); ApplyFtrl(use_locking); ApplyKerasMomentum(use_locking
    use_nesterov); ApplyMomentum(use_nesterov use_locking gradient_scale);
    ApplyProximalAdagrad(use_locking); ApplyRMSProp(use_locking); ApplyRotaryPosEmb(cos_format);
    ApproximateEqual(tolerance); ArgMaxWithValue(axis keep_dims); ArgMinWithValue(axis
    keep_dims); Argmax(axis); Argmin(axis); Assert(summarize); AvgPool3D(pad_mode pad ceil_mode
    count_include_pad divisor_override data_format); Barrier(group); BartlettWindow(periodic);
    BasicLSTMCell(keep_prob forget_bias state_is_tuple activation); BatchMatMul(transpose_a
    transpose_b); BatchNorm(is_training epsilon momentum); Bernoulli(seed offset);
    BlackmanWindow(periodic); BoundingBoxEncode(means stds); CTCGreedyDecoder(merge_repeated);
    CTCLoss(preprocess_collapse_repeated ctc_merge_repeated ignore_longer_outputs_than_inputs);
    CTCLossV2(blank reduction zero_infinity); Cdist(p); CeLU(alpha); Cholesky(upper);
    CholeskyInverse(upper); CholeskySolve(upper); CollectiveScatter(src_rank group);
    CombinedNonMaxSuppression(pad_per_class clip_boxes); ComputeAccidentalHits(num_true);
    Concat(axis); CropAndResize(method extrapolation_value); Cross(dim); CumProd(exclusive
    reverse); CumSum(exclusive reverse); CumulativeLogsumexp(exclusive reverse);
    DataFormatDimMap(src_format dst_format); DataFormatVecPermute(src_format dst_format);
    Dropout(keep_prob Seed0 Seed1); Dropout2D(keep_prob); Dropout3D(keep_prob);
    DropoutGenMask(Seed0 Seed1); DynamicGRUV2(direction cell_depth keep_prob cell_clip num_proj
    time_major activation gate_order reset_after is_training); DynamicRNN(cell_type direction
    cell_depth use_peephole keep_prob cell_clip num_proj time_major activation forget_bias
    is_training); DynamicShape(dtype); EditDistance(normalize); Eig(compute_v); Elu(alpha);
    EuclideanNorm(keep_dims); ExtractGlimpse(centered normalized uniform_noise noise);
    FusedAdaFactor(enable_scale_parameter enable_first_moment enable_weight_decay);
    FusedAdaFactorWithGlobalNorm(enable_scale_parameter enable_first_moment
    enable_weight_decay); FusedCastAdamWeightDecay(use_locking); FusedSparseAdam(use_locking
    use_nesterov); FusedSparseLazyAdam(use_locking use_nesterov);
    FusedSparseProximalAdagrad(use_locking); GLU(axis); Gamma(seed seed2); Gather(batch_dims);
    GridSampler2D(align_corners); GridSampler3D(align_corners); HShrink(lambd);
    HammingWindow(periodic alpha beta); Histogram(bins min max); IOU(mode);
    IndexPut(accumulate); IsClose(rtol atol equal_nan); KLDivLoss(reduction);
    L2Normalize(epsilon); LARSUpdate(epsilon hyperpara use_clip); LRN(depth_radius bias alpha
    beta norm_region); LayerNorm(begin_norm_axis begin_params_axis epsilon);
    LogNormalReverse(mean std); LogSoftmax(axis); LogSpace(steps base);
    LogUniformCandidateSampler(num_true num_sampled unique range_max seed); Logit(eps);
    Lstsq(fast l2_regularizer); LuUnpack(unpack_data unpack_pivots); MatMul(transpose_a
    transpose_b); MatrixDiagPartV3(align); MatrixDiagV3(align); MatrixInverse(adjoint);
    MatrixSetDiagV3(align); MatrixSolve(adjoint); MatrixSolveLs(fast);
    MatrixTriangularSolve(lower adjoint); MaxPool(pad_mode data_format); MaxPool3D(pad_mode
    data_format); MaxPoolWithArgmax(data_format); MirrorPad(mode); MultiMarginLoss(p margin
    reduction); MultilabelMarginLoss(reduction); Multinomial(seed seed2); NLLLoss(ignore_index);
    NMSWithMask(iou_threshold); NanToNum(nan posinf neginf); NoRepeatNGram(ngram_size);
    NthElement(reverse); NuclearNorm(keepdim); OneHot(axis); Ormqr(left transpose); Pack(axis);
    PadV3(mode paddings_contiguous); Padding(pad_dim_size); ParameterizedTruncatedNormal(seed
    seed2); Pdist(p); Poisson(seed seed2); Qr(full_matrices); Quantile(keep_dims ignore_nan);
    RNNTLoss(blank_label); RandomChoiceWithMask(count seed seed2); RandomGamma(seed seed2);
    RandomPoisson(seed seed2); RandomShuffle(seed seed2); Randperm(max_length pad);
    RandpermV2(seed offset); Range(maxlen); ReduceAll(keep_dims); ReduceAny(keep_dims);
    ReduceMax(keep_dims); ReduceMean(keep_dims); ReduceMin(keep_dims); ReduceProd(keep_dims);
    ReduceScatter(op group); ReduceScatterV(op group); ReduceStd(axis unbiased keep_dims);
    ReduceSum(keep_dims skip_mode); ResizeArea(align_corners); ResizeBicubic(align_corners
    half_pixel_centers); ResizeBilinearV2(align_corners half_pixel_centers);
    ResizeNearestNeighborV2(align_corners half_pixel_centers); RmsNorm(epsilon); SGD(dampening
    weight_decay nesterov); SampleDistortedBoundingBoxV2(seed seed2 aspect_ratio_range
    area_range max_attempts use_image_if_no_bounding_boxes); ScaleAndTranslate(kernel_type
    antialias); ScatterAdd(use_locking); ScatterAddWithAxis(axis); ScatterDiv(use_locking);
    ScatterMax(use_locking); ScatterMin(use_locking); ScatterMul(use_locking);
    ScatterNdAdd(use_locking); ScatterNdDiv(use_locking); ScatterNdMax(use_locking);
    ScatterNdMin(use_locking); ScatterNdMul(use_locking); ScatterNdSub(use_locking);
    ScatterNdUpdate(use_locking); ScatterSub(use_locking); ScatterUpdate(use_locking);
    SearchSorted(right); SmoothL1Loss(beta); SoftShrink(lambd); Softmax(axis); Sort(axis
    descending); SparseApplyProximalAdagrad(use_locking);
    SparseSoftmaxCrossEntropyWithLogits(is_grad); SparseTensorDenseMatmul(adjoint_st
    adjoint_dt); Split(axis output_num); Squeeze(axis); Stack(axis); StandardLaplace(seed
    seed2); StandardNormal(seed seed2); StridedSlice(begin_mask end_mask ellipsis_mask
    new_axis_mask shrink_axis_mask); Svd(full_matrices compute_uv); TensorDump(input_output);
    TensorScatterElements(axis reduction); TopK(sorted); Tril(diagonal); TripletMarginLoss(p
    swap eps reduction); Triu(diagonal); TruncatedNormal(seed seed2); UniformInt(seed seed2);
    UniformReal(seed seed2); UniqueConsecutive(return_inverse return_counts dim); Unpack(axis);
    Unstack(axis num); UpsampleTrilinear3D(align_corners)
"""
PRIVATE = {
    "ops.auto_generate": """
        BatchNormGrad(is_training epsilon); BatchNormGradGrad(is_training epsilon); CdistGrad(p);
        Diagonal(offset dim1 dim2); GridSampler2DGrad(align_corners output_mask);
        GridSampler3DGrad(align_corners output_mask); GroupedMatmul(split_item group_type
        transpose_a transpose_b); HShrinkGrad(lambd); LayerNormGrad(begin_norm_axis
        begin_params_axis); LayerNormGradGrad(begin_norm_axis begin_params_axis);
        LogSoftmaxGrad(axis); LogitGrad(eps); MaximumGrad(grad_x grad_y); MaximumGradGrad(grad_x
        grad_y); MinimumGrad(grad_x grad_y); NLLLossGrad(ignore_index); OneHotExt(axis);
        QuantBatchMatmul(transpose_x1 transpose_x2); ResizeBicubicGrad(align_corners
        half_pixel_centers); ResizeBilinearGrad(align_corners half_pixel_centers);
        ResizeNearestNeighborGrad(align_corners half_pixel_centers);
        ResizeNearestNeighborV2Grad(align_corners half_pixel_centers); SequenceConcat(axis);
        SmoothL1LossGrad(beta); SoftShrinkGrad(lambd); StackExt(dim); TensorScatterElements(axis);
        UpsampleTrilinear3DGrad(align_corners)
    """,
    "ops.operations._grad_ops": """
        AffineGridGrad(align_corners); AvgPool3DGrad(pads ceil_mode count_include_pad
        divisor_override data_format); BatchNormGrad(is_training epsilon);
        BatchNormGradGrad(is_training epsilon); ConcatOffset(N axis); DropoutGrad(keep_prob);
        FractionalAvgPoolGrad(overlapping); FractionalMaxPool3DGradWithFixedKsize(data_format);
        FractionalMaxPoolGrad(overlapping); FractionalMaxPoolGradWithFixedKsize(data_format);
        GridSampler2DGrad(align_corners output_mask); GridSampler3DGrad(align_corners output_mask);
        HShrinkGrad(lambd); InstanceNormV2Grad(is_training epsilon); KLDivLossGrad(reduction);
        L2NormalizeGrad(epsilon); LRNGrad(depth_radius bias alpha beta);
        LayerNormGrad(begin_norm_axis begin_params_axis); LayerNormGradGrad(begin_norm_axis
        begin_params_axis); LogSoftmaxGrad(axis); LogitGrad(eps); MaxPool3DGrad(kernel_size strides
        pad_mode data_format); MaxPool3DGradGrad(kernel_size strides pad_mode data_format);
        MaxPoolGrad(pad_mode data_format); MaxPoolGradGrad(pad_mode);
        MaxPoolGradGradWithArgmax(pad_mode); MaxPoolGradWithArgmax(pad_mode data_format);
        MaximumGrad(grad_x grad_y); MaximumGradGrad(grad_x grad_y); MedianGrad(global_median axis
        keep_dims); MinimumGrad(grad_x grad_y); MirrorPadGrad(mode); MultiMarginLossGrad(p margin
        reduction); NLLLossGrad(ignore_index); PadV3Grad(mode paddings_contiguous); PdistGrad(p);
        ResizeBicubicGrad(align_corners half_pixel_centers); ResizeBilinearGrad(align_corners
        half_pixel_centers); ResizeNearestNeighborGrad(align_corners half_pixel_centers);
        ResizeNearestNeighborV2Grad(align_corners half_pixel_centers);
        ResizeV2Grad(coordinate_transformation_mode mode); ScaleAndTranslateGrad(kernel_type
        antialias); SmoothL1LossGrad(beta); SoftShrinkGrad(lambd); StridedSliceGrad(begin_mask
        end_mask ellipsis_mask new_axis_mask shrink_axis_mask);
        UpsampleTrilinear3DGrad(align_corners)
    """,
    "ops.operations._inner_ops": """
        ConvertToDynamic(is_dynamic_rank)
    """,
    "ops.operations.nn_ops": """
        InstanceNormV2(is_training momentum epsilon); SparseApplyAdagradDA(use_locking);
        SparseApplyCenteredRMSProp(use_locking); SparseApplyMomentum(use_locking use_nesterov);
        SparseApplyProximalGradientDescent(use_locking)
    """,
    "ops.operations.math_ops": """
        Median(global_median axis keep_dims ignore_nan); SelfAdjointEig(compute_v);
        TridiagonalSolve(partial_pivoting)
    """,
}
ENUMERATIONS = """
    ms.dataset.ErrorSamplesMode ms.dataset.Implementation ms.dataset.Shuffle
    vision.AutoAugmentPolicy vision.Border vision.ConvertMode vision.ImageBatchFormat
    vision.ImageReadMode vision.Inter vision.SliceMode audio.BorderType audio.DensityFunction
    audio.FadeShape audio.GainType audio.Interpolation audio.MelType audio.Modulation
    audio.NormMode audio.NormType audio.ResampleMethod audio.ScaleType audio.WindowType
    text.JiebaMode text.NormalizeForm text.SPieceTokenizerLoadType text.SPieceTokenizerOutType
    text.SentencePieceModel transforms.Relational
"""


def defaults(classes: str, form: str) -> list:
    """The attributes in brackets of an object of each class."""
    found = []
    for name, attributes in re.findall(r"(\w+)\(([\w ]+)\)", classes):
        made = form.format(name)
        found.append(case(f"(lambda p: [getattr(p, n) for n in '{attributes}'.split()])({made}())"))
    return found


CASES = [
    *defaults(PUBLIC, "P.{}"),
    *(one for path, classes in PRIVATE.items()
      for one in defaults(classes, f"private('{path}', '{{}}')")),
    *(case(f"sorted((n, repr(v.value)) for n, v in {name}.__members__.items())")
      for name in ENUMERATIONS.split()),
]
